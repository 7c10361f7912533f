"""In: draft sentences.
Out: sentences that pass the rules, with their counterparts; the others keep their reasons.
"""
