// 安全检查的发现，按其标识。
import type { Findings } from "../../problems"

export default {
  "api-plain": {
    what: "以明文 HTTP 向本机以外的用户和程序提供服务",
    fix: "请只监听 127.0.0.1，并在前面加一个带 TLS 的反向代理（见 docs/operating.md）。",
  },
  "agents-plain": {
    what: "代理未使用 TLS 连接：在本机上，谁占用其端口就能冒充服务器",
    fix: "启动服务器时去掉 --agent-plain（见 docs/agents.md）。",
  },
  "xxl-no-token": {
    what: "任何能访问该端口的人都可以注册 XXL-JOB 执行器并获得任务",
    fix: "去掉 --xxl-allow-empty-token 和 --xxl-allow-default-token；用 `duly xxl-token create` 创建令牌。",
  },
  "xxl-short-token": {
    what: "服务器启动时给出的 XXL-JOB 令牌过短，容易被猜中",
    fix: "用 `duly xxl-token create` 创建令牌并交给执行器，之后启动时去掉 --xxl-token。",
  },
  "xxl-plain": {
    what: "以明文 HTTP 调用执行器：其令牌可能在途中被读取",
    fix: "请用 https 地址注册执行器，或把它们放在单独的网络中。",
  },
  "runs-as-root": {
    what: "有代理以 root 身份运行任务",
    fix: "请以专用用户运行代理，或在其策略中指定 run_as（见 docs/agents.md）。",
  },
  "agents-without-policy": {
    what: "有代理所在的机器没有策略：能编写作业的人就能在其上运行任何程序",
    fix: "请在 agent.toml 中说明允许运行的内容、身份和目录（见 docs/agents.md）。",
  },
  "private-networks": {
    what: "除默认租户外，还有租户的 HTTP 任务和执行器可以位于本机回环地址和内网",
    fix: "执行 `duly tenant set NAME --private-network false`；启动时去掉 --private-networks all（见 docs/tenants.md）。",
  },
  "data-open": {
    what: "本机的其他用户可以查看数据目录",
    fix: "请对它执行 chmod 700，并放在支持权限的文件系统上。",
  },
  "keys-open": {
    what: "本机的其他用户可以读取该服务器的密钥或令牌",
    fix: "请对这些文件执行 chmod 600，并更换可能已被读取的密钥或令牌。",
  },
  "built-for-tests": {
    what: "该程序是带有故障注入的测试版本",
    fix: "请在编译时去掉 `faults` 特性。",
  },
  "endless-tokens": {
    what: "有 API 令牌永久有效，且拥有所有者的全部权限",
    fix: "请用 --expires-in 和权限范围重新创建，并吊销现有的（`duly token list`）。",
  },
  "many-administrators": {
    what: "可以在所有租户中执行一切操作的人过多",
    fix: "请只在需要的范围内授予所需的角色（`duly grant list`）。",
  },
  "known-passwords": {
    what: "有账号的密码由他人设置，至今未修改",
    fix: "请让本人登录并修改密码，或停用这些账号（`duly person list`）。",
  },
} satisfies Findings
