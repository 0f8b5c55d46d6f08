# Not part of `make check`, because it needs large packages, which `tools/setup apps` installs:
# make check-apps [RANKS=4] [REPEATS=5] [LIMIT=30] [NPB=FOLDER] [TABLE=FILE]  real programs: answers, times, a table of them
# They are NWChem, BAGEL, PETSc, OpenFOAM, LAMMPS, GROMACS, CP2K, Quantum ESPRESSO, HPCC, and with NPB
# the NAS parallel benchmarks. LIMIT is in seconds.
check-apps: all
	tests/apps/run $(if $(RANKS),-n $(RANKS)) $(if $(REPEATS),-r $(REPEATS)) $(if $(LIMIT),--limit $(LIMIT)) \
	    $(if $(NPB),--npb $(NPB)) $(if $(TABLE),--table $(TABLE))

.PHONY: check-apps
