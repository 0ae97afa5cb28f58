// A plugin for QEMU's user emulators that counts the instructions of a program: make instructions.
// Its declarations are those of qemu-plugin.h, version 1, which Debian's package lacks.
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

int qemu_plugin_version = 1;

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*each)(uint64_t id, void *block));
void qemu_plugin_register_vcpu_tb_exec_inline(void *block, int add, void *to, uint64_t number);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*end)(uint64_t id, void *data), void *data);
size_t qemu_plugin_tb_n_insns(const void *block);
void qemu_plugin_outs(const char *text);

static uint64_t count;

static void translated(uint64_t id, void *block)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &count, qemu_plugin_tb_n_insns(block));
}

static void ended(uint64_t id, void *data)
{
	char text[64];
	(void)id, (void)data;
	snprintf(text, sizeof text, "%" PRIu64 " instructions\n", count);
	qemu_plugin_outs(text);
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info, (void)argc, (void)argv;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
