-- Arguments that fit no form are refused with the forms there are.
-- run: no: refused
-- setup
CREATE MACRO main.plus(x, y := 1) AS x + y;
-- statement
SELECT plus(1, z := 2);
-- refused PAL-216 (42000)
-- the call does not fit macro plus: the arguments fit none of its forms
-- call plus(x, y := 1)
