"""Records on Spark: sessions (`connection`), the driver (`driver`), tables (`table`) and their counts (`source`)."""
