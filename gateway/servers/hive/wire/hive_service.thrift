// The structures of the HiveServer2 protocol, up to version 11, as its clients send and read them.
// `make thrift` writes ttypes.py from this file; names and numbers of fields are the protocol's.

enum TProtocolVersion {
  V1, V2, V3, V4, V5, V6, V7, V8, V9, V10, V11
}

enum TTypeId {
  BOOLEAN_TYPE, TINYINT_TYPE, SMALLINT_TYPE, INT_TYPE, BIGINT_TYPE, FLOAT_TYPE, DOUBLE_TYPE,
  STRING_TYPE, TIMESTAMP_TYPE, BINARY_TYPE, ARRAY_TYPE, MAP_TYPE, STRUCT_TYPE, UNION_TYPE,
  USER_DEFINED_TYPE, DECIMAL_TYPE, NULL_TYPE, DATE_TYPE, VARCHAR_TYPE, CHAR_TYPE,
  INTERVAL_YEAR_MONTH_TYPE, INTERVAL_DAY_TIME_TYPE, TIMESTAMPLOCALTZ_TYPE
}

union TTypeQualifierValue {
  1: optional i32 i32Value
  2: optional string stringValue
}

struct TTypeQualifiers {
  1: required map<string, TTypeQualifierValue> qualifiers
}

struct TPrimitiveTypeEntry {
  1: required TTypeId type
  2: optional TTypeQualifiers typeQualifiers
}

// Nested types are declared as primitive ones, too: their values are texts.
union TTypeEntry {
  1: TPrimitiveTypeEntry primitiveEntry
}

struct TTypeDesc {
  1: required list<TTypeEntry> types
}

struct TColumnDesc {
  1: required string columnName
  2: required TTypeDesc typeDesc
  3: required i32 position
  4: optional string comment
}

struct TTableSchema {
  1: required list<TColumnDesc> columns
}

// Values of rows, which protocols before V6 read one by one.
struct TBoolValue { 1: optional bool value }
struct TByteValue { 1: optional byte value }
struct TI16Value { 1: optional i16 value }
struct TI32Value { 1: optional i32 value }
struct TI64Value { 1: optional i64 value }
struct TDoubleValue { 1: optional double value }
struct TStringValue { 1: optional string value }

union TColumnValue {
  1: TBoolValue boolVal
  2: TByteValue byteVal
  3: TI16Value i16Val
  4: TI32Value i32Val
  5: TI64Value i64Val
  6: TDoubleValue doubleVal
  7: TStringValue stringVal
}

struct TRow {
  1: required list<TColumnValue> colVals
}

// The columns of later protocols are written without these structures; see columns.py.
struct TRowSet {
  1: required i64 startRowOffset
  2: required list<TRow> rows
}

enum TStatusCode {
  SUCCESS_STATUS, SUCCESS_WITH_INFO_STATUS, STILL_EXECUTING_STATUS, ERROR_STATUS,
  INVALID_HANDLE_STATUS
}

struct TStatus {
  1: required TStatusCode statusCode
  2: optional list<string> infoMessages
  3: optional string sqlState
  4: optional i32 errorCode
  5: optional string errorMessage
}

enum TOperationState {
  INITIALIZED_STATE, RUNNING_STATE, FINISHED_STATE, CANCELED_STATE, CLOSED_STATE, ERROR_STATE,
  UKNOWN_STATE, PENDING_STATE, TIMEDOUT_STATE
}

struct THandleIdentifier {
  1: required binary guid
  2: required binary secret
}

struct TSessionHandle {
  1: required THandleIdentifier sessionId
}

enum TOperationType {
  EXECUTE_STATEMENT, GET_TYPE_INFO, GET_CATALOGS, GET_SCHEMAS, GET_TABLES, GET_TABLE_TYPES,
  GET_COLUMNS, GET_FUNCTIONS, UNKNOWN
}

struct TOperationHandle {
  1: required THandleIdentifier operationId
  2: required TOperationType operationType
  3: required bool hasResultSet
  4: optional double modifiedRowCount
}

struct TOpenSessionReq {
  1: required TProtocolVersion client_protocol
  2: optional string username
  3: optional string password
  4: optional map<string, string> configuration
}

struct TOpenSessionResp {
  1: required TStatus status
  2: required TProtocolVersion serverProtocolVersion
  3: optional TSessionHandle sessionHandle
  4: optional map<string, string> configuration
}

// What asks for nothing but its session: CloseSession, GetTypeInfo, GetCatalogs, GetTableTypes.
struct TSessionReq {
  1: required TSessionHandle sessionHandle
}

// What answers with a status alone.
struct TStatusResp {
  1: required TStatus status
}

// What answers with an operation: ExecuteStatement and the calls on the catalog.
struct TOperationResp {
  1: required TStatus status
  2: optional TOperationHandle operationHandle
}

// What asks for nothing but its operation: CancelOperation, CloseOperation, GetResultSetMetadata.
struct TOperationReq {
  1: required TOperationHandle operationHandle
}

union TGetInfoValue {
  1: string stringValue
  2: i16 smallIntValue
  3: i32 integerBitmask
  4: i32 integerFlag
  5: i32 binaryValue
  6: i64 lenValue
}

struct TGetInfoReq {
  1: required TSessionHandle sessionHandle
  2: required i32 infoType
}

struct TGetInfoResp {
  1: required TStatus status
  2: required TGetInfoValue infoValue
}

struct TExecuteStatementReq {
  1: required TSessionHandle sessionHandle
  2: required string statement
  3: optional map<string, string> confOverlay
  4: optional bool runAsync = false
  5: optional i64 queryTimeout = 0
}

struct TGetSchemasReq {
  1: required TSessionHandle sessionHandle
  2: optional string catalogName
  3: optional string schemaName
}

struct TGetTablesReq {
  1: required TSessionHandle sessionHandle
  2: optional string catalogName
  3: optional string schemaName
  4: optional string tableName
  5: optional list<string> tableTypes
}

struct TGetColumnsReq {
  1: required TSessionHandle sessionHandle
  2: optional string catalogName
  3: optional string schemaName
  4: optional string tableName
  5: optional string columnName
}

struct TGetFunctionsReq {
  1: required TSessionHandle sessionHandle
  2: optional string catalogName
  3: optional string schemaName
  4: required string functionName
}

struct TGetPrimaryKeysReq {
  1: required TSessionHandle sessionHandle
  2: optional string catalogName
  3: optional string schemaName
  4: optional string tableName
}

struct TGetCrossReferenceReq {
  1: required TSessionHandle sessionHandle
  2: optional string parentCatalogName
  3: optional string parentSchemaName
  4: optional string parentTableName
  5: optional string foreignCatalogName
  6: optional string foreignSchemaName
  7: optional string foreignTableName
}

enum TJobExecutionStatus {
  IN_PROGRESS, COMPLETE, NOT_AVAILABLE
}

struct TProgressUpdateResp {
  1: required list<string> headerNames
  2: required list<list<string>> rows
  3: required double progressedPercentage
  4: required TJobExecutionStatus status
  5: required string footerSummary
  6: required i64 startTime
}

struct TGetOperationStatusReq {
  1: required TOperationHandle operationHandle
  2: optional bool getProgressUpdate
}

struct TGetOperationStatusResp {
  1: required TStatus status
  2: optional TOperationState operationState
  3: optional string sqlState
  4: optional i32 errorCode
  5: optional string errorMessage
  6: optional string taskStatus
  7: optional i64 operationStarted
  8: optional i64 operationCompleted
  9: optional bool hasResultSet
  10: optional TProgressUpdateResp progressUpdateResponse
  11: optional i64 numModifiedRows
}

struct TGetResultSetMetadataResp {
  1: required TStatus status
  2: optional TTableSchema schema
}

enum TFetchOrientation {
  FETCH_NEXT, FETCH_PRIOR, FETCH_RELATIVE, FETCH_ABSOLUTE, FETCH_FIRST, FETCH_LAST
}

struct TFetchResultsReq {
  1: required TOperationHandle operationHandle
  2: required TFetchOrientation orientation
  3: required i64 maxRows
  4: optional i16 fetchType = 0
}

struct TFetchResultsResp {
  1: required TStatus status
  2: optional bool hasMoreRows
  3: optional TRowSet results
}

struct TQueryIdResp {
  1: required string queryId
}

struct TSetClientInfoReq {
  1: required TSessionHandle sessionHandle
  2: optional map<string, string> configuration
}
