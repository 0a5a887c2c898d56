"""The figures and stated numbers of the papers, computed again; one file a paper."""
