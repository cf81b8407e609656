"""Sessions with HiveServer2 and Spark's Thrift Server: login, statements, columns, errors."""
