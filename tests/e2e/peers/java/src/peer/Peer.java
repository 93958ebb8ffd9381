package peer;

import com.xxl.job.core.executor.impl.XxlJobSimpleExecutor;

import java.util.Collections;
import java.util.concurrent.CountDownLatch;

/** A frameless XXL-JOB executor, told by its environment where it belongs. */
public final class Peer {
    public static void main(String[] args) throws Exception {
        XxlJobSimpleExecutor executor = new XxlJobSimpleExecutor();
        executor.setAdminAddresses(told("PEER_ADMIN"));
        executor.setAccessToken(told("PEER_TOKEN"));
        executor.setAppname(told("PEER_APP"));
        executor.setIp("127.0.0.1");
        executor.setPort(Integer.parseInt(told("PEER_PORT")));
        executor.setLogPath(told("PEER_LOGS"));
        executor.setLogRetentionDays(3);
        executor.setXxlJobBeanList(Collections.<Object>singletonList(new Handlers(new Trace(told("PEER_TRACE")))));
        executor.start();
        // What a Spring application does when it is asked to end.
        Runtime.getRuntime().addShutdownHook(new Thread(executor::destroy));
        new CountDownLatch(1).await();
    }

    private static String told(String name) {
        String value = System.getenv(name);
        if (value == null) {
            throw new IllegalStateException(name + " is not set");
        }
        return value;
    }
}
