from hypothesis import settings

from tests.postgresql import postgresql

__all__ = ["postgresql"]

settings.register_profile("project", deadline=None)  # shared machines pause; speed is benchmarked
settings.load_profile("project")
