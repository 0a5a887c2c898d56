"""Tables and Parquet files on a cluster of Spark, counted by its DataFrame API."""
