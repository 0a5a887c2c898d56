"""The figures and stated numbers of the papers, computed again; one folder a paper."""
