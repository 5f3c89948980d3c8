"""``python3 -I -m ipybox_kernel -f CONNECTION_FILE``: run one kernel until it is shut down."""

import sys

from ipybox_kernel.launch import main

if __name__ == "__main__":
    main(sys.argv[1:])
