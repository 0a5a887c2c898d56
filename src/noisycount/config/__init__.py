"""The configuration of an owner: the file noisycount.toml.

`file` reads it into the classes of `config`; `toml_table` reads single values, `places` addresses, `service` the
section of the server.
"""
