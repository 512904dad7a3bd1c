"""The paper's illustrative prediction problems (section 4 and appendix A)."""
