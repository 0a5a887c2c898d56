"""The configuration of an owner: the file noisycount.toml.

`config` has its classes and reads it; `toml_table` reads single values, `places` addresses, `service` the
section of the server.
"""
