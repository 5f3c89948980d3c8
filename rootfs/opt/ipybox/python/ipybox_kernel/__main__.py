"""``python3 -m ipybox_kernel -f CONNECTION_FILE``: run one kernel until it is shut down."""

import os
import sys

# -m puts the working directory, which is the user's, before the standard library. IPython adds it
# again in its proper place.
if sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

from ipybox_kernel.launch import main

if __name__ == "__main__":
    main(sys.argv[1:])
