// SPDX-License-Identifier: BSL-1.0
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson: RLock on one node, RedissonRedLock on several, RedissonMultiLock with --variant multilock. On one node alone
 * RPermitExpirableSemaphore with --variant semaphore, and RReadWriteLock with --variant read-write. With --variant names
 * RedissonMultiLock of four of sixteen names, each of which is such an RLock or RedissonRedLock.
 */
public final class Driver {
    private interface Lease {
        void release();
    }

    private interface Lock {
        Lease acquire() throws InterruptedException;
    }

    private static final int WORKERS_SAMPLED = 16;

    private final Map<String, String> options = new HashMap<>();
    private final List<RedissonClient> clients = new ArrayList<>();
    private final List<long[]> samples = new ArrayList<>();
    private final Map<String, Long> failures = new HashMap<>();
    private long done;
    private long begins;
    private long ends;
    private CyclicBarrier all;

    private Driver(String[] words) {
        for (int i = 0; i + 1 < words.length; i += 2)
            options.put(words[i], words[i + 1]);
    }

    private int number(String name, int otherwise) {
        return Integer.parseInt(options.getOrDefault(name, String.valueOf(otherwise)));
    }

    private boolean contended() {
        return !options.getOrDefault("--workload", "cycles").equals("cycles");
    }

    private boolean convoy() {
        return options.getOrDefault("--workload", "cycles").equals("convoy");
    }

    private void connect() {
        int connections = Math.max(64, number("--workers", 1)); // 64 is the default
        for (String node : options.get("--nodes").split(",")) {
            Config config = new Config();
            config.useSingleServer().setAddress("redis://" + node).setConnectionPoolSize(connections);
            if (options.getOrDefault("--variant", "").equals("timeouts"))
                config.useSingleServer().setTimeout(50).setRetryAttempts(0);
            clients.add(Redisson.create(config));
        }
    }

    private RLock plain(String key) {
        RLock[] all = clients.stream().map(client -> client.getLock(key)).toArray(RLock[]::new);
        if (all.length == 1)
            return all[0];
        if (options.getOrDefault("--variant", "").equals("multilock"))
            return clients.get(0).getMultiLock(all);
        return new RedissonRedLock(all);
    }

    private Lock permit(String key) {
        RPermitExpirableSemaphore permits = clients.get(0).getPermitExpirableSemaphore(key);
        permits.trySetPermits(number("--permits", 1));
        return () -> {
            String id = permits.acquire(10, TimeUnit.SECONDS);
            return () -> permits.release(id);
        };
    }

    private RLock side(String key, boolean writes) {
        RReadWriteLock both = clients.get(0).getReadWriteLock(key);
        return writes ? both.writeLock() : both.readLock();
    }

    private RLock several(String key, int worker) {
        return new RedissonMultiLock(IntStream.range(0, 4).map(i -> (5 * worker + i) % 16).sorted()
                .mapToObj(number -> plain(key + ":" + number)).toArray(RLock[]::new));
    }

    private Lock lock(String key, int worker) {
        String variant = options.getOrDefault("--variant", "");
        if (variant.equals("semaphore"))
            return permit(key);
        RLock lock = variant.equals("read-write") ? side(key, worker % 10 == 0)
                : variant.equals("names") ? several(key, worker) : plain(key);
        return () -> {
            lock.lock();
            return lock::unlock;
        };
    }

    private String key(int worker) {
        String run = options.get("--run");
        return contended() ? "contended:" + run : "own:" + run + ":" + worker;
    }

    private synchronized void cycle(long[] one) {
        if (one[4] < begins || one[4] >= ends)
            return;
        ++done;
        if (contended() || one[0] < WORKERS_SAMPLED)
            samples.add(one);
    }

    private synchronized void fail(Exception error) {
        failures.merge(String.valueOf(error.getMessage()).replaceAll("[\"\\\\\\p{Cntrl}]", "'").replaceAll("[0-9a-f-]{30,}", "..."), 1L, Long::sum);
    }

    private void work(int worker) {
        Lock lock = lock(key(worker), worker);
        long holdMicros = number("--hold-us", 0);
        while (System.nanoTime() < ends) {
            try {
                long asked = System.nanoTime();
                Lease held = lock.acquire();
                long granted = System.nanoTime();
                if (holdMicros > 0)
                    Thread.sleep(holdMicros / 1000, (int) (holdMicros % 1000) * 1000);
                long releasing = System.nanoTime();
                held.release();
                cycle(new long[] {worker, asked, granted, releasing, System.nanoTime()});
                if (convoy())
                    all.await();
            } catch (Exception error) {
                fail(error);
            }
        }
    }

    private synchronized void finish(PrintStream told) throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(samples.size() * 40).order(ByteOrder.LITTLE_ENDIAN);
        for (long[] one : samples)
            for (long each : one)
                bytes.putLong(each);
        try (FileOutputStream file = new FileOutputStream(options.get("--samples"))) {
            file.write(bytes.array());
        }
        String texts = failures.entrySet().stream()
                .map(each -> "\"" + each.getKey() + "\": " + each.getValue()).collect(Collectors.joining(", "));
        told.println("{\"done\": " + done + ", \"failures\": {" + texts + "}}");
        told.flush();
        Runtime.getRuntime().halt(0);
    }

    private void run(PrintStream told) throws Exception {
        connect();
        lock("warm:" + options.get("--run") + ":" + System.nanoTime(), 0).acquire().release();
        told.println("ready");
        told.flush();
        String[] window = new BufferedReader(new InputStreamReader(System.in)).readLine().split(" ");
        begins = Long.parseLong(window[0]);
        ends = Long.parseLong(window[1]);
        all = new CyclicBarrier(number("--workers", 1));
        for (int worker = 0; worker != number("--workers", 1); ++worker) {
            int mine = worker;
            Thread thread = new Thread(() -> work(mine));
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(Math.max(0, (ends - System.nanoTime()) / 1_000_000));
        finish(told);
    }

    public static void main(String[] words) throws Exception {
        PrintStream told = System.out;
        System.setOut(System.err); // a log line is no result
        Logger.getLogger("").setLevel(Level.OFF);
        new Driver(words).run(told);
    }
}
