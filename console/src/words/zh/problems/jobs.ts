// 作业文件（E02）和作业（E03）。
import type { Entries } from "../../problems"

export default {
  E0201: { title: "无法读取作业文件", help: "请修正所示行的内容。" },
  E0202: { title: "作业文件中有不该出现的键或值", help: "请对照作业参考手册检查该键；键名使用小写字母和下划线。" },
  E0203: { title: "作业存在错误", help: "请修正下列错误；目前没有任何改动。" },
  E0204: {
    title: "名称不可用",
    help: "请使用小写字母、数字、“_”、“.”和“-”，最多 128 个字符，以字母或数字开头，且不能全是数字。",
  },
  E0205: { title: "触发方式不明确", help: "cron、every、delay、once 和 manual 最多选一个；after 可与前四个同时使用。" },
  E0206: {
    title: "cron 表达式不可用",
    help: 'Quartz 的顺序是：秒 分 时 日 月 星期 [年]。crontab 的写法请写作 {expr: "…", dialect: unix}。',
  },
  E0207: { title: "未知的时区", help: "请使用 IANA 名称，例如 Asia/Shanghai 或 Europe/Berlin。" },
  E0208: { title: "时长不可用", help: "请写数字加单位：250ms、90s、20m、1h30m、2d。" },
  E0209: { title: "时刻不可用", help: "请使用带时区偏移的 RFC 3339 格式：2026-11-15T10:20:30Z。" },
  E0210: {
    title: "任务不明确",
    help: "noop、sh、python、node、php、powershell、command、http 和 executor 必须且只能选一个。",
  },
  E0211: { title: "有值超出上限", help: "请缩小该值；上限见原因。" },
  E0212: { title: "前置作业不存在", help: "请先应用前置作业或与它一并应用，或改正名称。" },
  E0213: { title: "作业会跟随自身", help: "请断开 `after` 形成的环。" },
  E0214: { title: "同一次提交中有两个作业同名", help: "请为每个作业取不同的名称。" },
  E0215: { title: "规则的取值不可用", help: "请改正该值；允许的范围见原因。" },
  E0216: { title: "HTTP 调用不可用", help: "请填写完整的 http 或 https 地址，以及受支持的方法。" },
  E0217: {
    title: "唯一的计划时间已过",
    help: "请指定将来的时刻，或去掉 `once`，用 `duly job trigger NAME` 启动。",
  },
  E0218: {
    title: "作业所需的资源超过总量",
    help: "请用 `duly resource set NAME --units N` 设置资源总量，或减少作业所需的数量。",
  },
  E0301: { title: "作业不存在", help: "请用 `duly job list` 查看全部作业；名称须完全一致。" },
  E0302: { title: "名称已被其他作业使用", help: "请换一个名称，或修改使用该名称的作业。" },
  E0303: { title: "作业已禁用", help: "请用 `duly job enable NAME` 启用。" },
  E0304: {
    title: "作业已挂起，处于隔离区",
    help: "请查看 `duly quarantine`，排除原因后执行 `duly job release NAME`。",
  },
  E0305: { title: "作业未被隔离", help: "无需处理。" },
  E0306: { title: "该计划时间已有实例", help: "请重新运行该实例，或指定其他计划时间。" },
  E0307: { title: "作业没有该版本", help: "请用 `duly job versions NAME` 查看全部版本。" },
  E0308: {
    title: "有其他作业跟随该作业",
    help: "请先让它们跟随其他作业，或删除它们；也可加上 --force（force=true）重试，之后它们不再被触发。",
  },
  E0309: {
    title: "作业不能在指定位置运行",
    help: "请指定该作业资源池中的代理或执行器；可用 `duly agents list` 查看。",
  },
} satisfies Entries
