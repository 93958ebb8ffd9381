// 变量与密钥（E095）。
import type { Entries } from "../../problems"

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: as jobs write it.
export default {
  E0951: {
    title: "该作业有变量未设置",
    help: "请用 `duly variable set NAME VALUE` 设置，或写在作业的 variables 中；要表示 ${ 本身，请写 $${。",
  },
  E0952: {
    title: "无法识别占位符",
    help: "请写作 ${name}，可用字母、数字、“_”和“-”；要表示 ${ 本身，请写 $${。",
  },
  E0953: {
    title: "密钥不能这样使用",
    help: "请在 secrets 中以“NAME: 密钥名”的形式交给任务；${secret.name} 只能用于 HTTP 调用的请求头和请求体。",
  },
  E0954: {
    title: "该作业没有可用的同名密钥",
    help: "请用 `duly secret list` 查看；属于某个文件夹的密钥，仅供该文件夹及其下级中的作业使用。",
  },
  E0955: { title: "变量不存在", help: "请用 `duly variable list` 查看；每一级各有自己的变量。" },
  E0956: { title: "密钥不存在", help: "请用 `duly secret list` 查看全部密钥。" },
  E0957: {
    title: "该值不能作为密钥",
    help: "请使用 4 个字符到 16 KiB、不含零字节的文本：更短的值无法在日志中隐藏。",
  },
  E0958: {
    title: "该服务器没有用于保存密钥的主密钥",
    help: "请为集群中的每台服务器设置相同的主密钥：`head -c 32 /dev/urandom | base64 > FILE`，然后使用 --secret-key-file FILE 或 DULY_SECRET_KEY。",
  },
  E0959: {
    title: "密钥由另一个主密钥加密，该服务器没有它",
    help: "请使用其他服务器的主密钥启动，或使用该存储原数据目录中的主密钥文件。",
  },
  E0960: {
    title: "没有可轮换的新主密钥",
    help: "请在每台服务器的主密钥文件或 DULY_SECRET_KEY 中，把新主密钥放在旧的之前，重启后再试。",
  },
} satisfies Entries
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: as jobs write it.
