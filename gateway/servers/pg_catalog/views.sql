-- What functions that return rows read.
-- Foreign tables and servers have options, and there are none of these.
CREATE VIEW pgc.no_options AS SELECT '' AS option_name, '' AS option_value WHERE false;
CREATE VIEW pgc.keywords AS
SELECT keyword_name AS word, map_extract_value(
    MAP {'unreserved': 'U', 'column_name': 'C', 'type_function': 'T', 'reserved': 'R'},
    keyword_category
  ) AS catcode, true AS barelabel,
  replace(keyword_category, '_', ' ') AS catdesc, 'can be bare label' AS baredesc
FROM duckdb_keywords()
