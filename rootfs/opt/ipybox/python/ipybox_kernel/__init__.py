"""The Python half of a kernel: an ordinary ipykernel, set up for the supervisor that starts it.

    launch       one process, one kernel: what ``python3 -I -m ipybox_kernel -f FILE`` runs
    stack        the modules that a kernel is made of come from the image
    imports      modules of others that are changed when a user imports them
    app          the kernel application: its settings, sockets, standard streams
    kernel       the kernel itself: interrupts, refused input
    publisher    everything that leaves on IOPub, in order and within bounded memory
    out_stream   sys.stdout and sys.stderr
    fd_capture   what is written to the file descriptors 1 and 2
    tracebacks   errors, short whatever was raised
    frames       their frames as lines
    errors       chains and groups of exceptions
    displays     texts of tables and widgets, which would tell nothing; tables
    history      what is kept of cells: In, Out, %history
    wire         objects to JSON bytes that are always valid UTF-8
    shell_approval  shell commands that ask first
    shell_runner    a process that runs them where the kernel may not
    exec_filter     the filter that forbids it
    template     a process that forks kernels; reads preload.txt, which preload makes
    forking      what the template and its forks say, and what a fork does to be on its own
    forked       the kernel application in two halves, before and after the fork

Import nothing from here before ``launch.prepare()`` ran: ipykernel reads its surroundings when it
is imported.
"""

import os
import sys

# While -m looks for its module, the working directory comes before the standard library. It is the
# user's: a json.py there must not become ours. IPython adds it again in its proper place.
if sys.argv[:1] == ["-m"] and sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]
