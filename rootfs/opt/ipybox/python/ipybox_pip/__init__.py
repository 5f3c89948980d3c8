"""pip, which installs where cells can write and takes nothing from there: see ``__main__``."""
