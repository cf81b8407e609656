"""The relations of ``system``, supplied from what the gateway knows."""
