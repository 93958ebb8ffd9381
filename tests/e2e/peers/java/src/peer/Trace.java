package peer;

import com.xxl.job.core.context.XxlJobHelper;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;

/** What really ran, for a judge who does not ask the server: one line, one write, at the end of the file. */
final class Trace {
    private final Path file;

    Trace(String file) {
        this.file = Paths.get(file);
    }

    void write(String what, String handler) {
        String param = param().replaceAll("\\s", "_");
        String line = String.join(" ", what, handler, param.isEmpty() ? "-" : param,
                XxlJobHelper.getShardIndex() + "/" + XxlJobHelper.getShardTotal(), String.valueOf(System.currentTimeMillis()),
                "job=" + XxlJobHelper.getJobId(), "log=" + logId()) + "\n";
        try {
            Files.write(file, line.getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String param() {
        String param = XxlJobHelper.getJobParam();
        return param == null ? "" : param;
    }

    /** Only newer versions tell it; in all of them the log file is named after it, under a name that changed. */
    private static String logId() {
        for (String name : new String[] {"getLogFileName", "getJobLogFileName"}) {
            try {
                Path file = Paths.get((String) XxlJobHelper.class.getMethod(name).invoke(null));
                return file.getFileName().toString().replace(".log", "");
            } catch (ReflectiveOperationException olderOrNewer) {
                // The other name, then.
            }
        }
        return "?";
    }
}
