// Hive's JDBC driver for bench.hive_jdbc: for each line of its input, "rows" or "points N", does so
// and prints what it took: seconds for all rows, the median of N rows by key in milliseconds.
import java.io.*;
import java.sql.*;
import java.util.*;

public class HiveFetch {
    static final String COLUMNS = "SELECT id, name, amount, day, score FROM t";

    public static void main(String[] args) throws Exception {
        Class.forName("org.apache.hive.jdbc.HiveDriver");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        try (Connection c = DriverManager.getConnection(args[0], "me", "")) {
            System.out.println("ready");
            for (String line = input.readLine(); line != null; line = input.readLine())
                System.out.println(line.equals("rows") ? rows(c) : points(c, Integer.parseInt(line.split(" ")[1])));
        }
    }

    static double rows(Connection c) throws SQLException {
        long start = System.nanoTime(), sum = 0;
        try (Statement s = c.createStatement()) {
            s.setFetchSize(10_000);
            try (ResultSet r = s.executeQuery(COLUMNS)) {
                while (r.next()) sum += r.getInt(1) + r.getString(2).length() + r.getBigDecimal(3).scale()
                    + r.getString(4).length() + (long) r.getDouble(5);
            }
        }
        if (sum == 0) throw new IllegalStateException("no rows");
        return (System.nanoTime() - start) / 1e9;
    }

    static double points(Connection c, int count) throws SQLException {
        double[] times = new double[count];
        try (PreparedStatement p = c.prepareStatement(COLUMNS + " WHERE id = ?")) {
            for (int key = 0; key < count; key++) {
                long start = System.nanoTime();
                p.setInt(1, key);
                try (ResultSet r = p.executeQuery()) {
                    if (!r.next()) throw new IllegalStateException("no row " + key);
                }
                times[key] = (System.nanoTime() - start) / 1e6;
            }
        }
        Arrays.sort(times);
        return times[count / 2];
    }
}
