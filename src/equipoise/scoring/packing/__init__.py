"""In: batches of prompts.
Out: plans: token ids packed into rows in which shared prefixes are computed once; numpy only, no torch.
"""
