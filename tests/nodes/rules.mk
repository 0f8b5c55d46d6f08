# Two nodes: see tests/nodes/with_nodes. The tool is loaded into the ranks of MPICH.

ifneq ($(filter mpich,$(ABIS)),)
$(BUILD)/test/mpich/ucx_progress.so: tests/nodes/ucx_progress.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call show,CC,$<)$(CC) $(TEST_FLAGS) -fPIC -shared $< -o $@
tests: $(BUILD)/test/mpich/ucx_progress.so
endif
tests: examples
