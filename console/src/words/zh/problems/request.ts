// 请求本身（E01）。
import type { Entries } from "../../problems"

export default {
  E0100: { title: "服务器内部出错", help: "请按请求编号在服务器日志中查找相应的行，并附上该行反馈问题。" },
  E0101: { title: "无法读取请求体", help: "请发送一个 JSON 文档，Content-Type 为 application/json。" },
  E0102: { title: "请求体不符合要求", help: "请对照 /api/v1/openapi.json 中的结构检查。" },
  E0103: { title: "无法读取地址中的参数", help: "请对照 /api/v1/openapi.json 中的结构检查该参数。" },
  E0104: { title: "该地址不存在", help: "请在 /api/v1/openapi.json 中查找正确的地址。" },
  E0105: { title: "该地址不支持此方法", help: "响应的 Allow 头列出了它支持的方法。" },
  E0106: { title: "请求体过大", help: "请减少单次发送的内容：分几次应用文件，把大脚本放在代理所在机器的文件中。" },
  E0107: { title: "不接受这种类型的请求体", help: "请使用 application/json。" },
  E0108: { title: "分页游标无效", help: "请原样使用上一页的 `next`，筛选条件保持不变；或不带游标，从头开始。" },
  E0109: {
    title: "幂等键已用于其他请求",
    help: "每个新请求都应使用新的 Idempotency-Key；只有请求体相同时才能重复使用。",
  },
  E0110: { title: "读取耗时过长，已放弃", help: "请用 from 和 to 缩小时间范围，或指定作业。" },
  E0111: { title: "服务器尚未就绪", help: "请稍后再试；GET /api/v1/ready 会说明还缺什么。" },
  E0112: { title: "请求过于频繁", help: "请等待 Retry-After 所示的时间后再试。" },
} satisfies Entries
