// 租户（E092），审计（E094）。
import type { Entries } from "../../problems"

export default {
  E0921: { title: "租户不存在", help: "请用 `duly tenant list` 查看全部租户；名称须完全一致。" },
  E0922: { title: "名称已被其他租户使用", help: "请换一个名称，或修改使用该名称的租户。" },
  E0923: { title: "默认租户不能删除", help: "请逐个删除其中的作业、资源池和代理。" },
  E0924: { title: "租户中仍有内容", help: "请用 `duly tenant delete NAME` 删除，它会按顺序清除全部内容。" },
  E0925: {
    title: "超出租户的作业数配额",
    help: "请删除不需要的作业，或申请提高配额：`duly tenant set NAME --jobs N`。",
  },
  E0926: { title: "确认码无效", help: "请不带确认码重新执行 `duly tenant delete NAME`，并使用它给出的确认码。" },
  E0927: {
    title: "租户的当前状态尚未导出",
    help: "请先执行 `duly tenant export NAME > FILE`，然后再删除。",
  },
  E0928: { title: "租户正在删除", help: "请等待删除完成；`duly tenant show NAME` 会说明还剩什么。" },
  E0929: {
    title: "租户已有可由任意服务器调度的作业",
    help: "请用 `--servers` 新建一个租户，在那里应用这些作业，再从这里删除。",
  },
  E0930: { title: "无法再为更多租户指定专用服务器", help: "请删除一个已指定服务器且不再需要的租户。" },
  E0941: {
    title: "审计无法写入，因此不执行任何变更",
    help: "请让存储恢复写入（磁盘空间、数据库权限）；之后会自动重新接受变更。",
  },
  E0942: { title: "原因不可用", help: "请写成一行，UTF-8 编码，最多 500 个字符。" },
  E0943: { title: "审计条目不存在", help: "请用 `duly audit list` 查看；超过保留时长的条目会被清除。" },
  E0944: {
    title: "审计被篡改或已损坏",
    help: "每项发现都指明了一个条目；请与导出的内容或先前记录的链头比对。",
  },
} satisfies Entries
