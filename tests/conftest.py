from hypothesis import settings

# Compiling is slow and its time uneven; the same examples every time, so that failures repeat.
settings.register_profile("hyperaction", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("hyperaction")
