"""In: runs whose sentences were asked in several wordings.
Out: how much the wording changes: every metric by wording, variance components, ranks and the worst wording.
"""
