// An XXL-JOB executor of xxl-job-executor-go, told by its environment where it belongs.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	xxl "github.com/xxl-job/xxl-job-executor-go"
)

func main() {
	executor := xxl.NewExecutor(
		xxl.ServerAddr(told("PEER_ADMIN")),
		xxl.AccessToken(told("PEER_TOKEN")),
		xxl.ExecutorIp("127.0.0.1"),
		xxl.ExecutorPort(told("PEER_PORT")),
		xxl.RegistryKey(told("PEER_APP")),
	)
	executor.Init()
	executor.LogHandler(readLog)
	for name, handler := range handlers {
		executor.RegTask(name, handler)
	}
	// Returns when it was asked to end and has said so to the server.
	if err := executor.Run(); err != nil {
		log.Fatal(err)
	}
}

// A handler of this library succeeds with what it returns and fails by a panic; there is no third way.
var handlers = map[string]xxl.TaskFunc{
	"ok":   traced("ok", func(_ context.Context, run *xxl.RunReq) string { return "ok:" + run.ExecutorParams }),
	"fail": traced("fail", func(context.Context, *xxl.RunReq) string { panic("wanted") }),
	"sleep": func(ctx context.Context, run *xxl.RunReq) string {
		trace("start", "sleep", run)
		select {
		case <-time.After(milliseconds(run.ExecutorParams)):
			trace("end", "sleep", run)
			return "slept"
		case <-ctx.Done():
			trace("cut", "sleep", run)
			return "cut short"
		}
	},
	"stubborn": traced("stubborn", func(_ context.Context, run *xxl.RunReq) string {
		time.Sleep(milliseconds(run.ExecutorParams))
		return "slept"
	}),
	"shard": traced("shard", func(_ context.Context, run *xxl.RunReq) string {
		return fmt.Sprintf("%d/%d", run.BroadcastIndex, run.BroadcastTotal)
	}),
	// "n", or "n:ms" for a pause after each line.
	"chatty": traced("chatty", func(_ context.Context, run *xxl.RunReq) string {
		count, pause, _ := strings.Cut(run.ExecutorParams, ":")
		lines, _ := strconv.Atoi(count)
		for line := 1; line <= lines; line++ {
			appendTo(logFile(run.LogID), fmt.Sprintf("line %d\n", line))
			time.Sleep(milliseconds(pause))
		}
		return "ok"
	}),
}

func traced(name string, handler xxl.TaskFunc) xxl.TaskFunc {
	return func(ctx context.Context, run *xxl.RunReq) string {
		trace("start", name, run)
		defer trace("end", name, run)
		return handler(ctx, run)
	}
}

// The library leaves keeping and reading logs to its user: whole files, a page of a thousand lines at most.
func readLog(asked *xxl.LogReq) *xxl.LogRes {
	text, err := os.ReadFile(logFile(asked.LogID))
	if err != nil {
		return &xxl.LogRes{Code: xxl.FailureCode, Msg: err.Error()}
	}
	lines := strings.SplitAfter(string(text), "\n")
	lines = lines[:len(lines)-1]
	from := min(max(asked.FromLineNum, 1)-1, len(lines))
	to := min(from+1000, len(lines))
	return &xxl.LogRes{Code: xxl.SuccessCode, Content: xxl.LogResContent{
		FromLineNum: asked.FromLineNum,
		ToLineNum:   to,
		LogContent:  strings.Join(lines[from:to], ""),
		IsEnd:       to == len(lines),
	}}
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func max(a, b int) int { return -min(-a, -b) }

// What really ran, for a judge who does not ask the server: one line, one write, at the end of the file.
func trace(what, handler string, run *xxl.RunReq) {
	param := strings.Join(strings.Fields(run.ExecutorParams), "_")
	if param == "" {
		param = "-"
	}
	appendTo(told("PEER_TRACE"), fmt.Sprintf("%s %s %s %d/%d %d job=%d log=%d\n", what, handler, param,
		run.BroadcastIndex, run.BroadcastTotal, time.Now().UnixNano()/1_000_000, run.JobID, run.LogID))
}

func appendTo(path, text string) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	if _, err = file.WriteString(text); err != nil {
		log.Fatal(err)
	}
}

func logFile(id int64) string { return filepath.Join(told("PEER_LOGS"), fmt.Sprintf("%d.log", id)) }

func milliseconds(text string) time.Duration {
	n, _ := strconv.Atoi(text)
	return time.Duration(n) * time.Millisecond
}

func told(name string) string {
	value, ok := os.LookupEnv(name)
	if !ok {
		log.Fatalf("%s is not set", name)
	}
	return value
}
