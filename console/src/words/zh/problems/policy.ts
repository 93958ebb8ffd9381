// 代理所在机器的策略（E097），可以访问的地址和证书（E098）。
import type { Entries } from "../../problems"

export default {
  E0971: {
    title: "代理不允许运行这类任务",
    help: "请把该类型写入代理策略的 allow.tasks，或让作业在其他资源池中运行。",
  },
  E0972: {
    title: "代理不允许以该用户运行任务",
    help: "请把该用户写入代理策略的 allow.users，或去掉作业中的 run_as。",
  },
  E0973: {
    title: "代理不允许在该目录启动任务",
    help: "请把该目录写入代理策略的 allow.directories，或修改作业的 cwd。",
  },
  E0974: { title: "代理不允许运行该程序", help: "请把程序所在的目录写入代理策略的 allow.programs。" },
  E0975: {
    title: "代理不允许把该变量交给任务",
    help: "请把它写入代理策略的 env.set 或 env.pass，或从作业中去掉。",
  },
  E0976: { title: "代理的策略不可用", help: "请修正文件中所示的行，然后重新启动代理。" },
  E0981: {
    title: "该地址禁止访问",
    help: "请使用其他地址；如确认无害，请在发起调用一方的策略中把它写入 allow。",
  },
  E0982: { title: "此处不能访问内网", help: "请申请允许该租户访问内网，或使用公网地址。" },
  E0983: {
    title: "该地址是 Duly 自身的端口",
    help: "请在脚本中用单独的令牌调用 API；或在发起调用一方的策略中把该地址写入 allow。",
  },
  E0986: {
    title: "代理端口的证书不可用",
    help: "请更新证书，或换用与代理所连名称相符的证书；具体问题见原因。",
  },
} satisfies Entries
