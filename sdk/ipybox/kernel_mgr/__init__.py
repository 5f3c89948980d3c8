"""Kernels without tools: KernelGateway starts a Jupyter Kernel Gateway, KernelClient runs code."""
