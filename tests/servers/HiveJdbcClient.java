// What a tool of Hive does at connect and after: prints one line a step, which the test reads.
import java.math.BigDecimal;
import java.sql.*;

public class HiveJdbcClient {
    static void names(String what, ResultSet r, int column) throws SQLException {
        StringBuilder found = new StringBuilder(what);
        while (r.next()) found.append(' ').append(r.getString(column));
        System.out.println(found);
    }

    public static void main(String[] args) throws Exception {
        Class.forName("org.apache.hive.jdbc.HiveDriver");
        String user = args.length > 1 ? args[1] : "me", password = args.length > 2 ? args[2] : "";
        try (Connection c = DriverManager.getConnection(args[0], user, password)) {
            DatabaseMetaData m = c.getMetaData();
            System.out.println("product " + m.getDatabaseProductName());
            Statement s = c.createStatement();
            s.execute("SET hive.exec.parallel=true");
            s.execute("DROP TABLE IF EXISTS hs2_child");
            s.execute("DROP TABLE IF EXISTS hs2");
            s.execute("CREATE TABLE hs2 (id INT PRIMARY KEY, name STRING, amount DECIMAL(10,2), seen TIMESTAMP,"
                + " tags ARRAY<INT>, map MAP<STRING,INT>, part STRUCT<x:INT,y:STRING>, raw BINARY, day DATE,"
                + " yes BOOLEAN, f FLOAT, g DOUBLE, tiny TINYINT, small SMALLINT, big BIGINT)");
            s.execute("INSERT INTO hs2 VALUES (1, 'Ada', 12.30, TIMESTAMP '2020-01-02 03:04:05.678', ARRAY(1, 2), MAP('k', 1),"
                + " NAMED_STRUCT('x', 1, 'y', 'z'), CAST('raw' AS BINARY), DATE '2020-02-29', true, 1.1, 2.5, 3, 4, 5)");
            s.execute("INSERT INTO hs2 (id, name) VALUES (2, NULL), (3, 'Gr\u00fc\u00dfe')");
            s.execute("UPDATE hs2 SET name = 'Grace' WHERE id = 2");
            s.execute("DELETE FROM hs2 WHERE id = 3");
            ResultSet r = s.executeQuery("SELECT * FROM hs2 ORDER BY id");
            ResultSetMetaData d = r.getMetaData();
            StringBuilder types = new StringBuilder("types");
            for (int i = 1; i <= d.getColumnCount(); i++) types.append(' ').append(d.getColumnTypeName(i));
            System.out.println(types);
            while (r.next()) {
                StringBuilder row = new StringBuilder("row");
                for (int i = 1; i <= d.getColumnCount(); i++) {
                    Object value = r.getObject(i);
                    if (value instanceof byte[]) value = new String((byte[]) value);
                    row.append('|').append(value);
                }
                System.out.println(row);
            }
            r.close();
            PreparedStatement p = c.prepareStatement("SELECT name, amount FROM hs2 WHERE id = ?");
            p.setInt(1, 1);
            r = p.executeQuery();
            r.next();
            System.out.println("prepared " + r.getString(1) + " " + r.getBigDecimal(2).add(BigDecimal.ONE));
            r.close();
            s.setFetchSize(1000);
            r = s.executeQuery("SELECT * FROM range(25000) AS numbers(n)");
            long sum = 0, rows = 0;
            while (r.next()) { rows++; sum += r.getLong(1); }
            System.out.println("rows " + rows + " sum " + sum);
            r.close();
            names("schemas", m.getSchemas(), 1);
            names("tables", m.getTables(null, "%", "hs%", new String[] {"TABLE"}), 3);
            names("columns", m.getColumns(null, null, "hs2", "%"), 4);
            names("types", m.getColumns(null, null, "hs2", "%"), 6);
            names("kinds", m.getTableTypes(), 1);
            names("key", m.getPrimaryKeys(null, null, "hs2"), 4);
            names("catalogs", m.getCatalogs(), 1);
            r = m.getTypeInfo();
            int count = 0;
            while (r.next()) count++;
            System.out.println("type info " + count);
            try { s.execute("SELECT * FROM nothing"); }
            catch (SQLException e) { System.out.println("error " + e.getSQLState() + " " + e.getErrorCode()); }
            try { s.execute("SELEC"); }
            catch (SQLException e) { System.out.println("error " + e.getSQLState() + " " + e.getErrorCode()); }
            final Statement slow = c.createStatement();
            Thread stop = new Thread(() -> {
                try { Thread.sleep(700); slow.cancel(); } catch (Exception e) { System.out.println("cancel failed " + e); }
            });
            stop.start();
            long began = System.nanoTime();
            try {
                slow.execute("SELECT count(*) FROM range(3000000) AS a(x) JOIN range(3000000) AS b(y) ON x % 7 = y % 5");
                System.out.println("not cancelled");
            } catch (SQLException e) {
                System.out.println("cancelled " + ((System.nanoTime() - began) / 1e9 < 5));
            }
            stop.join();
            Statement timed = c.createStatement();
            timed.setQueryTimeout(1);
            try {
                timed.execute("SELECT count(*) FROM range(3000000) AS a(x) JOIN range(3000000) AS b(y) ON x % 7 = y % 5");
                System.out.println("not timed out");
            } catch (SQLTimeoutException e) { System.out.println("timed out"); }
            s.execute("DROP TABLE hs2");
        }
    }
}
