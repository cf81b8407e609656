// What a JDBC tool does at connect and after: prints one line a step, which the test reads.
import java.math.BigDecimal;
import java.sql.*;

public class JdbcClient {
    public static void main(String[] args) throws Exception {
        try (Connection c = DriverManager.getConnection(args[0], "me", "")) {
            DatabaseMetaData m = c.getMetaData();
            System.out.println("product " + m.getDatabaseProductName());
            Statement s = c.createStatement();
            s.executeUpdate("DROP TABLE IF EXISTS jdbc");
            s.executeUpdate("CREATE TABLE jdbc (id INTEGER PRIMARY KEY, name TEXT, amount NUMERIC(10,2), seen TIMESTAMPTZ)");
            c.setAutoCommit(false);
            try (PreparedStatement p = c.prepareStatement("INSERT INTO jdbc VALUES (?, ?, ?, ?)")) {
                for (int i = 0; i < 1000; i++) {
                    p.setInt(1, i);
                    p.setString(2, i % 10 == 0 ? null : "name " + i);
                    p.setBigDecimal(3, new BigDecimal(i).movePointLeft(2));
                    p.setTimestamp(4, new Timestamp(1577836800000L + i));
                    p.addBatch();
                }
                System.out.println("batch " + p.executeBatch().length);
            }
            c.commit();
            try (PreparedStatement p = c.prepareStatement("SELECT id, name, amount, seen FROM jdbc ORDER BY id")) {
                p.setFetchSize(100);
                ResultSet r = p.executeQuery();
                int rows = 0;
                BigDecimal sum = BigDecimal.ZERO;
                while (r.next()) { rows++; sum = sum.add(r.getBigDecimal(3)); }
                System.out.println("rows " + rows + " sum " + sum);
            }
            c.commit();
            try (PreparedStatement p = c.prepareStatement("UPDATE jdbc SET name = ? WHERE id = ? RETURNING name")) {
                for (int i = 0; i < 10; i++) {
                    p.setString(1, "new"); p.setInt(2, i);
                    ResultSet r = p.executeQuery(); r.next();
                    if (!r.getString(1).equals("new")) throw new AssertionError();
                }
            }
            c.rollback();
            try (Statement u = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                ResultSet r = u.executeQuery("SELECT id, name, amount FROM jdbc WHERE id < 3 ORDER BY id");
                r.absolute(2); r.updateString("name", "edited"); r.updateRow();
                r.absolute(3); r.deleteRow();
                r.moveToInsertRow(); r.updateInt(1, 5000); r.updateString(2, "added"); r.insertRow();
                ResultSetMetaData d = r.getMetaData();
                System.out.println("of " + d.getTableName(2) + " auto " + d.isAutoIncrement(1) + " null " + d.isNullable(1) + d.isNullable(2));
                c.commit();
            }
            ResultSet e5 = s.executeQuery("SELECT string_agg(id || ' ' || name, ', ' ORDER BY id) FROM jdbc WHERE id < 4 OR id > 1000");
            e5.next();
            System.out.println("edited " + e5.getString(1));
            ResultSet t = m.getTables(null, null, "jdbc", new String[] {"TABLE"});
            while (t.next()) System.out.println("table " + t.getString(2) + "." + t.getString(3));
            ResultSet k = m.getColumns(null, null, "jdbc", null);
            while (k.next()) System.out.println("column " + k.getString(4) + " " + k.getString(6) + " " + k.getInt(11));
            ResultSet pk = m.getPrimaryKeys(null, null, "jdbc");
            while (pk.next()) System.out.println("key " + pk.getString(4));
            ResultSet ix = m.getIndexInfo(null, null, "jdbc", false, false);
            while (ix.next()) System.out.println("index " + ix.getString(6) + " " + ix.getString(9));
            ResultSet sc = m.getSchemas();
            while (sc.next()) System.out.println("schema " + sc.getString(1));
            try { s.execute("SELECT * FROM nothing"); } catch (SQLException e) { System.out.println("error " + e.getSQLState()); }
        }
    }
}
