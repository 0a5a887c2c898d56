"""Made-up records of the same columns, and the same question asked of them: nobody pays."""
