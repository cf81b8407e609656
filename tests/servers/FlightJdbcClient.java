// What a JDBC tool does over Flight SQL at connect and after: prints one line a step.
import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

public class FlightJdbcClient {
    public static void main(String[] args) throws Exception {
        try (Connection c = DriverManager.getConnection(args[0], "me", "x")) {
            DatabaseMetaData m = c.getMetaData();
            System.out.println("product " + m.getDatabaseProductName());
            Statement s = c.createStatement();
            s.executeUpdate("DROP TABLE IF EXISTS jdbc");
            s.executeUpdate("CREATE TABLE jdbc (id INTEGER PRIMARY KEY, name TEXT, amount NUMERIC(10,2), seen TIMESTAMPTZ)");
            System.out.println("insert " + s.executeUpdate("INSERT INTO jdbc VALUES (0, 'zero', 0.5, '2020-01-01 00:00:00+00')"));
            try (PreparedStatement p = c.prepareStatement("INSERT INTO jdbc VALUES (?, ?, ?, ?)")) {
                for (int i = 1; i < 100; i++) {
                    p.setInt(1, i);
                    p.setString(2, i % 10 == 0 ? null : "name " + i);
                    p.setBigDecimal(3, new BigDecimal(i).movePointLeft(2));
                    p.setTimestamp(4, new Timestamp(1577836800000L + i));
                    p.addBatch();
                }
                System.out.println("batch " + p.executeBatch().length);
            }
            try (PreparedStatement p = c.prepareStatement("SELECT id, name, amount, seen FROM jdbc WHERE id >= ? ORDER BY id")) {
                p.setInt(1, 1);
                ResultSet r = p.executeQuery();
                int rows = 0;
                BigDecimal sum = BigDecimal.ZERO;
                while (r.next()) { rows++; sum = sum.add(r.getBigDecimal(3)); }
                System.out.println("rows " + rows + " sum " + sum);
            }
            // The driver does nothing on commit and rollback, so transactions go by statements.
            s.execute("BEGIN");
            s.executeUpdate("DELETE FROM jdbc WHERE id > 50");
            s.execute("ROLLBACK");
            try (ResultSet r = s.executeQuery("SELECT count(*) FROM jdbc")) { r.next(); System.out.println("count " + r.getInt(1)); }
            try (ResultSet r = m.getTables(null, null, "jd%", null)) { while (r.next()) System.out.println("table " + r.getString(2) + "." + r.getString(3) + " " + r.getString(4)); }
            try (ResultSet r = m.getColumns(null, null, "jdbc", null)) { while (r.next()) System.out.println("column " + r.getString(4) + " " + r.getString(6) + " " + r.getInt(11)); }
            try (ResultSet r = m.getPrimaryKeys(null, null, "jdbc")) { while (r.next()) System.out.println("key " + r.getString(4)); }
            try (ResultSet r = m.getSchemas()) { while (r.next()) System.out.println("schema " + r.getString(1)); }
            for (java.lang.reflect.Method method : DatabaseMetaData.class.getMethods())
                if (method.getParameterCount() == 0)
                    try { method.invoke(m); } catch (java.lang.reflect.InvocationTargetException e) {
                        if (!(e.getCause() instanceof SQLFeatureNotSupportedException) && !(e.getCause() instanceof UnsupportedOperationException)) System.out.println("fails " + method.getName() + " " + e.getCause()); }
            try { s.executeQuery("SELECT * FROM nowhere"); } catch (SQLException e) { System.out.println("error " + e.getMessage().contains("PAL-201") + " " + e.getMessage().contains("42P01")); }
            try (ResultSet r = s.executeQuery("SELECT * FROM range(300000) AS r(x)")) { long n = 0; while (r.next()) n += r.getLong(1); System.out.println("sum " + n); }
        }
    }
}
