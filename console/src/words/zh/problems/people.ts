// 登录（E06），用户与权限（E090、E091）。
import type { Entries } from "../../problems"

export default {
  E0601: {
    title: "尚未登录",
    help: "请登录；程序请携带令牌：Authorization: Bearer …，命令行请设置 DULY_TOKEN。",
  },
  E0602: { title: "没有权限", help: "请联系管理员，获取原因中所列的权限或含有该权限的令牌。" },
  E0603: { title: "账号或密码错误", help: "请检查拼写和键盘布局后重试。" },
  E0604: { title: "服务器尚未初始化", help: "请打开服务器启动时打印的初始化链接，或运行 `duly setup`。" },
  E0605: { title: "服务器已完成初始化", help: "请直接登录。" },
  E0606: { title: "初始化口令无效", help: "请使用最近一次启动时打印的链接；它只能使用一次。" },
  E0607: { title: "令牌不存在", help: "请用 `duly token list` 查看全部令牌。" },
  E0608: { title: "密码强度不足", help: "请使用至少 10 个字符。" },
  E0901: { title: "账号不存在", help: "请用 `duly person list` 查看全部账号；名称须完全一致。" },
  E0902: { title: "名称已被使用", help: "请换一个名称。" },
  E0903: {
    title: "不能授予超出自身的权限",
    help: "请联系拥有这些权限的人；用 `duly whoami` 可查看自己的权限。",
  },
  E0904: { title: "系统将没有管理员", help: "请先把适用于所有租户的 platform_admin 授予其他人。" },
  E0905: {
    title: "须先修改密码",
    help: "请设置自己的密码：`duly person password --old-password-file OLD --password-file NEW`。",
  },
  E0906: { title: "用户组不存在", help: "请用 `duly group list` 查看全部用户组。" },
  E0907: { title: "角色不存在", help: "请用 `duly role list` 查看全部角色。" },
  E0908: { title: "授权不存在", help: "请在授权所在的租户中用 `duly grant list` 查看。" },
  E0909: { title: "仍有人持有该角色", help: "请先删除使用该角色的授权；可用 `duly grant list` 查看。" },
  E0910: {
    title: "这类账号不支持此操作",
    help: "人员有密码，并自行创建令牌；程序账号没有密码，其令牌由他人创建。",
  },
  E0911: {
    title: "权限不存在",
    help: "请写作“类别.操作”，例如 job.run，或用“类别.*”表示全部；可用 `duly role list` 查看所有权限。",
  },
  E0912: { title: "会话不存在", help: "请用 `duly session list` 查看全部会话。" },
  E0913: {
    title: "限定了权限范围的令牌不能管理所有者的账号",
    help: "请登录后操作，或使用拥有所有者全部权限的令牌。",
  },
  E0914: { title: "未启用身份提供方登录", help: "请按原因修正配置中的 [oidc]；在此期间可以使用密码登录。" },
  E0915: { title: "无法连接身份提供方", help: "请确认服务器可以访问 issuer；在此期间可以使用密码登录。" },
  E0916: {
    title: "身份提供方返回的内容未被接受",
    help: "请重新登录；如仍出现，请核对双方的 issuer、client 和时钟。",
  },
  E0917: {
    title: "身份提供方的用户在此没有账号",
    help: "请管理员用 `duly person create NAME --provider` 创建账号，或按原因修正。",
  },
  E0918: {
    title: "修改自己的密码需要旧密码",
    help: "请用 `duly person password --old-password-file OLD --password-file NEW` 修改；如已忘记旧密码，请联系其他管理员。",
  },
} satisfies Entries
