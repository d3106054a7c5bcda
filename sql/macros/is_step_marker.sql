-- Does the name mark a step of the profiler (ProfilerStep#N)? A marker is a step, not a call. MindSpore puts its origin
-- before it (Python::PythonObserved::ProfilerStep#N).
is_step_marker(name) as contains(name, 'ProfilerStep#') and regexp_full_match(name, '(?:.*::)?ProfilerStep#[0-9]{1,18}')
