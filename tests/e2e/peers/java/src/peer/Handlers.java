package peer;

import com.xxl.job.core.context.XxlJobHelper;
import com.xxl.job.core.handler.annotation.XxlJob;

/** The handlers every peer has, in every language under the same names. */
public final class Handlers {
    private final Trace trace;

    Handlers(Trace trace) {
        this.trace = trace;
    }

    @XxlJob("ok")
    public void ok() {
        trace.write("start", "ok");
        XxlJobHelper.handleSuccess("ok:" + Trace.param());
        trace.write("end", "ok");
    }

    @XxlJob("fail")
    public void fail() {
        trace.write("start", "fail");
        XxlJobHelper.handleFail("wanted");
        trace.write("end", "fail");
    }

    @XxlJob("sleep")
    public void sleep() throws InterruptedException {
        trace.write("start", "sleep");
        try {
            Thread.sleep(Long.parseLong(Trace.param()));
        } catch (InterruptedException cut) {
            trace.write("cut", "sleep");
            throw cut;
        }
        XxlJobHelper.handleSuccess("slept");
        trace.write("end", "sleep");
    }

    @XxlJob("stubborn")
    public void stubborn() {
        trace.write("start", "stubborn");
        long until = System.nanoTime() + Long.parseLong(Trace.param()) * 1_000_000;
        for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
            try {
                Thread.sleep(left / 1_000_000 + 1);
            } catch (InterruptedException heardButNotHeeded) {
                // That is its whole point.
            }
        }
        XxlJobHelper.handleSuccess("slept");
        trace.write("end", "stubborn");
    }

    @XxlJob("shard")
    public void shard() {
        trace.write("start", "shard");
        XxlJobHelper.handleSuccess(XxlJobHelper.getShardIndex() + "/" + XxlJobHelper.getShardTotal());
        trace.write("end", "shard");
    }

    /** "n", or "n:ms" for a pause after each line. */
    @XxlJob("chatty")
    public void chatty() throws InterruptedException {
        trace.write("start", "chatty");
        String[] told = Trace.param().split(":");
        for (int line = 1; line <= Integer.parseInt(told[0]); line++) {
            XxlJobHelper.log("line {}", line);
            if (told.length > 1) {
                Thread.sleep(Long.parseLong(told[1]));
            }
        }
        XxlJobHelper.handleSuccess("ok");
        trace.write("end", "chatty");
    }
}
