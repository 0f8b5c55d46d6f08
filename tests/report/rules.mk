# Programs of the scripts in tests/report.

define report_test_rules
$(BUILD)/test/$(1)/report_%: tests/report/%.c $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) $$< -o $$@
tests: $(BUILD)/test/$(1)/report_known $(BUILD)/test/$(1)/report_title
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call report_test_rules,$(abi))))
