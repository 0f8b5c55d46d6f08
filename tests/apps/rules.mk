# Not part of `make check`, because it needs large packages, which `tools/setup apps` installs:
# make check-apps  run real programs: NWChem, BAGEL, PETSc, OpenFOAM, LAMMPS, GROMACS, CP2K, Quantum
#                  ESPRESSO, HPCC; NPB=FOLDER for the NAS parallel benchmarks, RANKS=4 for so many ranks,
#                  REPEATS=5 for times with their spread, TABLE=FILE for a table in Markdown
check-apps: all
	tests/apps/run $(if $(RANKS),-n $(RANKS)) $(if $(REPEATS),-r $(REPEATS)) $(if $(LIMIT),--limit $(LIMIT)) \
	    $(if $(NPB),--npb $(NPB)) $(if $(TABLE),--table $(TABLE))

.PHONY: check-apps
