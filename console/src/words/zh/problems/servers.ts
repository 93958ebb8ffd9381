// 服务器自身的问题（E07），仅由命令行给出的问题（E08）。
import type { Entries } from "../../problems"

export default {
  E0701: { title: "存储暂时无法写入", help: "请释放数据目录所在磁盘的空间；之后服务器会自动恢复。" },
  E0702: { title: "存储已损坏", help: "请停止服务器，并用 `duly restore` 恢复最近的备份。" },
  E0703: { title: "现由另一台服务器负责", help: "请重试：请求会转给负责的服务器。" },
  E0704: { title: "备份失败", help: "请检查数据目录的剩余空间和服务器日志。" },
  E0705: { title: "引擎处理该请求时出错", help: "作业已挂起；请查看 `duly quarantine`。" },
  E0706: { title: "服务器不存在", help: "请用 `duly cluster status` 查看全部服务器。" },
  E0707: { title: "该服务器仍在使用", help: "请停止它，或等其他服务器接管它的分片。" },
  E0708: { title: "该服务器独立运行", help: "多台服务器需要使用 PostgreSQL 存储：见 docs/cluster.md。" },
  E0709: { title: "该存储由其数据库负责备份", help: "请使用 pg_dump 备份，用 pg_restore 恢复。" },
  E0710: {
    title: "可调度它的服务器均不在线",
    help: "请启动其中一台，或指定其他服务器：`duly tenant set NAME --servers A,B`。",
  },
  E0801: { title: "无法连接服务器", help: "请确认它正在运行（`duly up`），且 DULY_URL 指向它。" },
  E0802: { title: "无法识别服务器的应答", help: "请确认 DULY_URL 指向版本相近的 Duly 服务器。" },
  E0803: { title: "需要确认，但无人可询问", help: "请查看计划，然后加上 --yes 重试。" },
  E0804: { title: "文件不可用", help: "请检查路径和权限。" },
  E0805: { title: "参数不可用", help: "请查看该命令的 --help。" },
  E0806: { title: "实例未正常结束", help: "请查看 `duly log ID` 和 `duly why ID`。" },
  E0807: { title: "账目与触发规则不一致", help: "请查看列表；每一行都列出作业和计划时间。" },
  E0808: { title: "已有更新的尝试接手", help: "请结束当前尝试：它要写入的内容已经过时。" },
} satisfies Entries
