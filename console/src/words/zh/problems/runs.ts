// 实例（E04），代理和资源池（E05）。
import type { Entries } from "../../problems"

export default {
  E0401: { title: "实例不存在", help: "请用 `duly instance list` 查看；超过保留时长的实例会被清除。" },
  E0402: { title: "实例已结束", help: "没有可停止的内容；用 `duly instance rerun ID` 可重新运行。" },
  E0403: { title: "实例尚未结束", help: "请等待它结束，或先用 `duly instance stop ID` 停止。" },
  E0404: { title: "实例状态明确，无需认定", help: "只有代理失联、无法询问的尝试才需要人工认定结果。" },
  E0405: { title: "尝试不存在", help: "请用 `duly instance show ID` 查看全部尝试。" },
  E0406: { title: "日志已不存在", help: "日志超过保留时长后会被清除；可在配置中延长保留时长。" },
  E0501: { title: "代理不存在", help: "请用 `duly agents list` 查看全部代理。" },
  E0502: { title: "代理仍有任务", help: "请先排空，等其上的任务全部结束后再移除。" },
  E0503: { title: "资源池不存在", help: "请用 `duly pool list` 查看全部资源池。" },
  E0504: { title: "资源池仍在使用", help: "请先把其中的作业和代理移到其他资源池。" },
  E0505: {
    title: "加入令牌无效",
    help: "请用 `duly join-token` 生成新的令牌；每个令牌只能使用一次，且短时间内有效。",
  },
  E0506: { title: "执行器地址不可用", help: "请写作 http://host:port/，即服务器访问该执行器所用的地址。" },
} satisfies Entries
