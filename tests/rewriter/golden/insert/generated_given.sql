-- A generated column takes no value.
-- setup
CREATE TABLE main.goods (
  id INTEGER PRIMARY KEY, price INTEGER, pieces INTEGER, total INTEGER GENERATED ALWAYS AS (price * pieces)
);
INSERT INTO main.goods (id, price, pieces) VALUES (1, 2, 3), (2, 5, NULL);
-- statement
INSERT INTO main.goods (id, total) VALUES (3, 4);
-- refused PAL-305 (428C9)
-- column "total" of main.goods is generated and cannot be given a value
-- leave it out: it is computed from the other columns
