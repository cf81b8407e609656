"""Messages of Flight and Flight SQL, generated from the .proto files beside them."""
