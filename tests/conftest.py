from hypothesis import settings

settings.register_profile("project", deadline=None)  # shared machines pause; speed is benchmarked
settings.load_profile("project")
