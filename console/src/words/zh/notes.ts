// What the server notes beside planned times, in Chinese.
import type { Notes } from "../notes"

export default [
  [/^the job is paused: none of these happens until it is resumed$/, "作业已暂停：恢复之前，以下时间都不会运行"],
  [/^the job is disabled: none of these happens until it is enabled$/, "作业已停用：启用之前，以下时间都不会运行"],
  [/^each instance is planned (.+) after the end of the one before$/, "每个实例计划在上一个实例结束 $1 之后"],
  [/^it runs only when it is triggered$/, "只在被触发时运行"],
  [/^it follows (.+): its times are when instances of that end$/, "跟随 $1：在其实例结束时运行"],
  [/^it follows (.+): it also starts when that ends$/, "跟随 $1：其实例结束时也会运行"],
  [
    /^each start is up to (.+) later than planned, as the job's jitter says$/,
    "按作业的抖动设置，实际启动最多比计划晚 $1",
  ],
] satisfies Notes
