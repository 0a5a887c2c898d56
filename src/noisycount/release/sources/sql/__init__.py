"""Records on SQL servers, counted by statements of SQLAlchemy with bound values."""
