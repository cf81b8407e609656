"""The structures of the protocol: ``ttypes`` is made of ``hive_service.thrift``, never edited."""
