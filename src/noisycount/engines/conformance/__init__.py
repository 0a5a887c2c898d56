"""The conformance suite: records, questions and true answers on which every engine is tested before it is trusted."""
